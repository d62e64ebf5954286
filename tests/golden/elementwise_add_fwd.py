# AddFwdOp
_set0 = _G_dtype_set(('bool', 'uint8', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128'))
_set1 = _G_dtype_set(('float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128'))


def infer(input, other, alpha):
    try:
        _device = input.device
        if type(alpha) is not int and _G_bad_param('alpha', alpha):
            _G_reject(locals())
        _input_shape = input.shape
        _input_dtype = input.dtype
        if _input_dtype not in _set0:
            _G_reject(locals())
        T = _G_dtype_names[_input_dtype]
        A = _input_shape
        _other_shape = other.shape
        if other.dtype != _input_dtype:
            _G_reject(locals())
        if other.device != _device:
            _G_reject(locals())
        B = _other_shape
        if not ((_input_dtype in _set1) or (_G_p_category(alpha) == 'int')):
            _G_reject(locals())
        if not _G_p_representable(alpha, T):
            _G_reject(locals())
        return _device, ((_G_p_broadcast(A, B), _input_dtype),), (A, B)
    except _G_DomainError:
        _G_reject(locals())
