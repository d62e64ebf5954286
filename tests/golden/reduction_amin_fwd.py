# AminFwdOp
_set0 = _G_dtype_set(('bool', 'uint8', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64'))


def infer(input, dim, keepdim):
    try:
        _device = input.device
        dim = _G_bare(dim)
        if type(dim) is not int and _G_bad_param('dim', dim):
            _G_reject(locals())
        _input_shape = input.shape
        _input_dtype = input.dtype
        if _input_dtype not in _set0:
            _G_reject(locals())
        S = _input_shape
        _c = _G_disjunction((_G_p_prod(S) > 0), lambda: (_G_p_prod(_G_p_reduced(S, dim, keepdim, 'full')) == 0))
        if _c is not True:
            _G_require(_c, locals())
        if not (_G_p_valid_axes(dim, len(S)) and _G_p_unique_axes(dim, len(S))):
            _G_reject(locals())
        return _device, ((_G_p_reduced(S, dim, keepdim, 'full'), _input_dtype),), (S,)
    except _G_DomainError:
        _G_reject(locals())
