# GroupNormFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(input, weight, bias, num_groups, eps):
    try:
        _device = input.device
        _c = num_groups > 0
        if _c is not True:
            _G_require(_c, locals())
        _input_shape = (*input.shape,)
        if len(_input_shape) < 2:
            _G_reject(locals())
        _input_dtype = input.dtype
        if _input_dtype not in _set0:
            _G_reject(locals())
        B = _input_shape[0]
        C = _input_shape[1]
        L = _input_shape[2:]
        if weight is not None:
            _weight_shape = weight.shape
            if len(_weight_shape) != 1:
                _G_reject(locals())
            if weight.dtype != _input_dtype:
                _G_reject(locals())
            if weight.device != _device:
                _G_reject(locals())
            _c = _weight_shape[0] == C
            if _c is not True:
                _G_require(_c, locals())
        if bias is not None:
            _bias_shape = bias.shape
            if len(_bias_shape) != 1:
                _G_reject(locals())
            if bias.dtype != _input_dtype:
                _G_reject(locals())
            if bias.device != _device:
                _G_reject(locals())
            _c = _bias_shape[0] == C
            if _c is not True:
                _G_require(_c, locals())
        _c = _G_modulo(C, num_groups) == 0
        if _c is not True:
            _G_require(_c, locals())
        return _device, ((_input_shape, _input_dtype),), (B, C, L)
    except _G_DomainError:
        _G_reject(locals())
