# GEMMFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(a, b, trans_a, trans_b):
    M = None
    K = None
    N = None
    _device = a.device
    _a_shape = a.shape
    if len(_a_shape) != 2:
        _G_reject(locals())
    _a_dtype = a.dtype
    if _a_dtype not in _set0:
        _G_reject(locals())
    if not trans_a:
        M, K = _a_shape
    else:
        K, M = _a_shape
    _b_shape = b.shape
    if len(_b_shape) != 2:
        _G_reject(locals())
    if b.dtype != _a_dtype:
        _G_reject(locals())
    if b.device != _device:
        _G_reject(locals())
    if not trans_b:
        _0, N = _b_shape
        _c = _0 == K
        if _c is not True:
            _G_require(_c, locals())
    else:
        N, _1 = _b_shape
        _c = _1 == K
        if _c is not True:
            _G_require(_c, locals())
    return _device, (((M, N), _a_dtype),), (K, M, N)
