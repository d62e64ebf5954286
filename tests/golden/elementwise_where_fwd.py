# WhereFwdOp
_set0 = _G_dtype_set(('bool', 'uint8', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128', 'float8_e4m3fn', 'float8_e5m2'))


def infer(condition, input, other):
    try:
        _device = condition.device
        _condition_shape = condition.shape
        if condition.dtype != _G_dtypes['bool']:
            _G_reject(locals())
        C = _condition_shape
        _input_shape = input.shape
        _input_dtype = input.dtype
        if _input_dtype not in _set0:
            _G_reject(locals())
        if input.device != _device:
            _G_reject(locals())
        A = _input_shape
        _other_shape = other.shape
        if other.dtype != _input_dtype:
            _G_reject(locals())
        if other.device != _device:
            _G_reject(locals())
        B = _other_shape
        return _device, ((_G_p_broadcast(C, A, B), _input_dtype),), (A, B, C)
    except _G_DomainError:
        _G_reject(locals())
