# CumsumFwdOp
_set0 = _G_dtype_set(('bool', 'uint8', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128'))


def infer(input, dim, dtype):
    try:
        _device = input.device
        _dtype = _G_dtype_names.get(dtype)
        if dtype is not None and _dtype not in ('uint8', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128'):
            _G_reject(locals())
        _input_shape = input.shape
        _input_dtype = input.dtype
        if _input_dtype not in _set0:
            _G_reject(locals())
        T = _G_dtype_names[_input_dtype]
        S = _input_shape
        if not _G_p_valid_axes(dim, len(S)):
            _G_reject(locals())
        return _device, ((_input_shape, _G_dtypes[_G_p_coalesce_dtype(_dtype, _G_p_sum_result(T))]),), (S,)
    except _G_DomainError:
        _G_reject(locals())
