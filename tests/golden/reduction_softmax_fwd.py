# SoftmaxFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32', 'float64'))


def infer(x, dim, dtype):
    try:
        _device = x.device
        _dtype = _G_dtype_names.get(dtype)
        if dtype is not None and _dtype not in ('float16', 'bfloat16', 'float32', 'float64'):
            _G_reject(locals())
        _x_shape = x.shape
        _x_dtype = x.dtype
        if _x_dtype not in _set0:
            _G_reject(locals())
        T = _G_dtype_names[_x_dtype]
        S = _x_shape
        if not _G_p_valid_axes(dim, len(S)):
            _G_reject(locals())
        return _device, ((_x_shape, _G_dtypes[_G_p_coalesce_dtype(_dtype, T)]),), (S,)
    except _G_DomainError:
        _G_reject(locals())
