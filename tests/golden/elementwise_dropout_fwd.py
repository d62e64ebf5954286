# DropoutFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32', 'float64'))


def infer(input, p, training, inplace, seed):
    _device = input.device
    if not ((0 <= p) and (p <= 1)):
        _G_reject(locals())
    _input_shape = input.shape
    _input_dtype = input.dtype
    if _input_dtype not in _set0:
        _G_reject(locals())
    S = _input_shape
    return _device, ((_input_shape, _input_dtype),), (S,)


def overload(input, p, training, inplace, seed):
    if inplace:
        return 'writes_input'
    return 'default'
