# VarFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128'))


def infer(input, dim, correction, keepdim):
    try:
        _device = input.device
        dim = _G_bare(dim)
        if type(dim) is not int and _G_bad_param('dim', dim):
            _G_reject(locals())
        _input_shape = input.shape
        _input_dtype = input.dtype
        if _input_dtype not in _set0:
            _G_reject(locals())
        T = _G_dtype_names[_input_dtype]
        S = _input_shape
        if not (_G_p_valid_axes(dim, len(S)) and _G_p_unique_axes(dim, len(S))):
            _G_reject(locals())
        return _device, ((_G_p_reduced(S, dim, keepdim, 'full'), _G_dtypes[_G_p_real_of(T)]),), (S,)
    except _G_DomainError:
        _G_reject(locals())
