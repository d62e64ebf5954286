# INT8QuantPerChannelFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(w):
    _device = w.device
    _w_shape = w.shape
    if len(_w_shape) != 2:
        _G_reject(locals())
    _w_dtype = w.dtype
    if _w_dtype not in _set0:
        _G_reject(locals())
    N, K = _w_shape
    return _device, ((_w_shape, _G_dtypes['int8']), ((N,), _G_dtypes['float32']),), (K, N)
