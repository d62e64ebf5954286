# GELUAndMulFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(input, approximate):
    _device = input.device
    if approximate not in ('none', 'tanh'):
        _G_reject(locals())
    _input_shape = input.shape
    if len(_input_shape) != 2:
        _G_reject(locals())
    _input_dtype = input.dtype
    if _input_dtype not in _set0:
        _G_reject(locals())
    M, _1 = _input_shape
    _c = _1 % 2 == 0
    if _c is not True:
        _G_require(_c, locals())
    N = _1 // 2
    return _device, (((M, N), _input_dtype),), (M, N)
