# VectorNormFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128'))


def infer(x, ord, dim, keepdim, dtype):
    try:
        _device = x.device
        dim = _G_bare(dim)
        _dtype = _G_dtype_names.get(dtype)
        if type(ord) is not int and _G_bad_param('ord', ord):
            _G_reject(locals())
        if type(dim) is not int and _G_bad_param('dim', dim):
            _G_reject(locals())
        if dtype is not None and _dtype not in ('float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128'):
            _G_reject(locals())
        _x_shape = x.shape
        _x_dtype = x.dtype
        if _x_dtype not in _set0:
            _G_reject(locals())
        T = _G_dtype_names[_x_dtype]
        S = _x_shape
        _c = _G_disjunction(_G_disjunction(_G_conjunction((0 <= ord), lambda: (ord < _G_inf)), lambda: (_G_p_prod(S) > 0)), lambda: (_G_p_prod(_G_p_reduced(S, dim, keepdim, 'full')) == 0))
        if _c is not True:
            _G_require(_c, locals())
        _c = _G_disjunction((not (dtype is not None)), lambda: _G_conjunction((_G_p_promote_types(T, _dtype) == _dtype), lambda: (_G_p_category(T) == _G_p_category(_dtype))))
        if _c is not True:
            _G_require(_c, locals())
        if not (_G_p_valid_axes(dim, len(S)) and _G_p_unique_axes(dim, len(S))):
            _G_reject(locals())
        return _device, ((_G_p_reduced(S, dim, keepdim, 'full'), _G_dtypes[_G_p_real_of(_G_p_coalesce_dtype(_dtype, T))]),), (S,)
    except _G_DomainError:
        _G_reject(locals())
