# RMSNormFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(x, weight, normalized_shape, eps):
    _device = x.device
    if not (len(normalized_shape) > 0):
        _G_reject(locals())
    _x_shape = (*x.shape,)
    if len(_x_shape) < len(normalized_shape):
        _G_reject(locals())
    _x_dtype = x.dtype
    if _x_dtype not in _set0:
        _G_reject(locals())
    B = _x_shape[:len(_x_shape) - (len(normalized_shape))]
    _c = _G_same_sequence(_x_shape[len(_x_shape) - len(normalized_shape):], normalized_shape)
    if _c is not True:
        _G_require(_c, locals())
    if weight is not None:
        _weight_shape = weight.shape
        if len(_weight_shape) != len(normalized_shape):
            _G_reject(locals())
        if weight.dtype != _x_dtype:
            _G_reject(locals())
        if weight.device != _device:
            _G_reject(locals())
        _c = _G_same_sequence(_weight_shape, normalized_shape)
        if _c is not True:
            _G_require(_c, locals())
    return _device, ((_x_shape, _x_dtype),), (B,)
