# AlibiFwdOp


def infer(seq_len, num_heads, out_dtype, device):
    _device = device
    _out_dtype = _G_dtype_names.get(out_dtype)
    if _out_dtype not in ('float16', 'bfloat16', 'float32'):
        _G_reject(locals())
    _c = num_heads >= 0
    if _c is not True:
        _G_require(_c, locals())
    _c = seq_len >= 0
    if _c is not True:
        _G_require(_c, locals())
    return _device, (((num_heads, seq_len, seq_len), _G_dtypes[_out_dtype]),), ()
