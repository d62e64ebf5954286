# FP8QuantPerTokenGroupFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(x):
    _device = x.device
    _x_shape = x.shape
    if len(_x_shape) != 4:
        _G_reject(locals())
    _x_dtype = x.dtype
    if _x_dtype not in _set0:
        _G_reject(locals())
    batch, seq_len_kv, kv_group, index_dim = _x_shape
    return _device, ((_x_shape, _G_dtypes['float8_e4m3fn']), ((batch, seq_len_kv, kv_group), _G_dtypes['float32']),), (batch, index_dim, kv_group, seq_len_kv)
