# FusedAddLayerNormFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(x, residual, weight, bias, eps):
    _device = x.device
    _x_shape = (*x.shape,)
    if len(_x_shape) < 1:
        _G_reject(locals())
    _x_dtype = x.dtype
    if _x_dtype not in _set0:
        _G_reject(locals())
    B = _x_shape[:-1]
    N = _x_shape[-1]
    _residual_shape = (*residual.shape,)
    if len(_residual_shape) != len(B) + 1:
        _G_reject(locals())
    if residual.dtype != _x_dtype:
        _G_reject(locals())
    if residual.device != _device:
        _G_reject(locals())
    _c = _G_same_sequence(_residual_shape[:len(B)], B)
    if _c is not True:
        _G_require(_c, locals())
    _c = _residual_shape[-1] == N
    if _c is not True:
        _G_require(_c, locals())
    _weight_shape = weight.shape
    if len(_weight_shape) != 1:
        _G_reject(locals())
    if weight.dtype != _x_dtype:
        _G_reject(locals())
    if weight.device != _device:
        _G_reject(locals())
    _c = _weight_shape[0] == N
    if _c is not True:
        _G_require(_c, locals())
    _bias_shape = bias.shape
    if len(_bias_shape) != 1:
        _G_reject(locals())
    if bias.dtype != _x_dtype:
        _G_reject(locals())
    if bias.device != _device:
        _G_reject(locals())
    _c = _bias_shape[0] == N
    if _c is not True:
        _G_require(_c, locals())
    return _device, ((_x_shape, _x_dtype), (_x_shape, _x_dtype),), (B, N)
