# HardtanhFwdOp
_set0 = _G_dtype_set(('uint8', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64'))


def infer(input, min_val, max_val, inplace):
    _device = input.device
    if not (min_val <= max_val):
        _G_reject(locals())
    _input_shape = input.shape
    _input_dtype = input.dtype
    if _input_dtype not in _set0:
        _G_reject(locals())
    T = _G_dtype_names[_input_dtype]
    S = _input_shape
    if not (_G_p_representable(min_val, T) and _G_p_representable(max_val, T)):
        _G_reject(locals())
    return _device, ((_input_shape, _input_dtype),), (S,)


def overload(input, min_val, max_val, inplace):
    if inplace:
        return 'writes_input'
    return 'default'
