# INT8QuantPerTensorFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(x):
    _device = x.device
    _x_shape = x.shape
    if len(_x_shape) != 2:
        _G_reject(locals())
    _x_dtype = x.dtype
    if _x_dtype not in _set0:
        _G_reject(locals())
    M, K = _x_shape
    return _device, ((_x_shape, _G_dtypes['int8']), ((1,), _G_dtypes['float32']),), (K, M)
