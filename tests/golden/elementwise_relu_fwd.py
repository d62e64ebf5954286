# ReLUFwdOp
_set0 = _G_dtype_set(('uint8', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64'))


def infer(input, inplace):
    _device = input.device
    _input_shape = input.shape
    _input_dtype = input.dtype
    if _input_dtype not in _set0:
        _G_reject(locals())
    S = _input_shape
    return _device, ((_input_shape, _input_dtype),), (S,)


def overload(input, inplace):
    if inplace:
        return 'writes_input'
    return 'default'
