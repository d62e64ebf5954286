# SmoothQuantFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16'))


def infer(x, smooth):
    _device = x.device
    _x_shape = x.shape
    if len(_x_shape) != 2:
        _G_reject(locals())
    _x_dtype = x.dtype
    if _x_dtype not in _set0:
        _G_reject(locals())
    M, K = _x_shape
    _smooth_shape = smooth.shape
    if len(_smooth_shape) != 1:
        _G_reject(locals())
    if smooth.dtype != _G_dtypes['float32']:
        _G_reject(locals())
    if smooth.device != _device:
        _G_reject(locals())
    _c = _smooth_shape[0] == K
    if _c is not True:
        _G_require(_c, locals())
    return _device, ((_x_shape, _G_dtypes['int8']), ((M,), _G_dtypes['float32']),), (K, M)
