# RoundFwdOp
_set0 = _G_dtype_set(('uint8', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64'))
_set1 = _G_dtype_set(('float16', 'bfloat16', 'float32', 'float64'))


def infer(input, decimals):
    _device = input.device
    _input_shape = input.shape
    _input_dtype = input.dtype
    if _input_dtype not in _set0:
        _G_reject(locals())
    S = _input_shape
    _c = _G_disjunction((decimals == 0), lambda: (_input_dtype in _set1))
    if _c is not True:
        _G_require(_c, locals())
    return _device, ((_input_shape, _input_dtype),), (S,)
