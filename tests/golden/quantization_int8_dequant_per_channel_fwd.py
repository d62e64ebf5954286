# INT8DequantPerChannelFwdOp


def infer(q, scale, out_dtype):
    _device = q.device
    _out_dtype = _G_dtype_names.get(out_dtype)
    if _out_dtype not in ('float16', 'bfloat16', 'float32'):
        _G_reject(locals())
    _q_shape = q.shape
    if len(_q_shape) != 2:
        _G_reject(locals())
    if q.dtype != _G_dtypes['int8']:
        _G_reject(locals())
    M, K = _q_shape
    _scale_shape = scale.shape
    if len(_scale_shape) != 1:
        _G_reject(locals())
    if scale.dtype != _G_dtypes['float32']:
        _G_reject(locals())
    if scale.device != _device:
        _G_reject(locals())
    _c = _scale_shape[0] == M
    if _c is not True:
        _G_require(_c, locals())
    return _device, ((_q_shape, _G_dtypes[_out_dtype]),), (K, M)
