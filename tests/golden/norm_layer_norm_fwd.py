# LayerNormFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(input, weight, bias, normalized_shape, eps):
    _device = input.device
    if not (len(normalized_shape) > 0):
        _G_reject(locals())
    _input_shape = (*input.shape,)
    if len(_input_shape) < len(normalized_shape):
        _G_reject(locals())
    _input_dtype = input.dtype
    if _input_dtype not in _set0:
        _G_reject(locals())
    B = _input_shape[:len(_input_shape) - (len(normalized_shape))]
    _c = _G_same_sequence(_input_shape[len(_input_shape) - len(normalized_shape):], normalized_shape)
    if _c is not True:
        _G_require(_c, locals())
    if weight is not None:
        _weight_shape = weight.shape
        if len(_weight_shape) != len(normalized_shape):
            _G_reject(locals())
        if weight.dtype != _input_dtype:
            _G_reject(locals())
        if weight.device != _device:
            _G_reject(locals())
        _c = _G_same_sequence(_weight_shape, normalized_shape)
        if _c is not True:
            _G_require(_c, locals())
    if bias is not None:
        _bias_shape = bias.shape
        if len(_bias_shape) != len(normalized_shape):
            _G_reject(locals())
        if bias.dtype != _input_dtype:
            _G_reject(locals())
        if bias.device != _device:
            _G_reject(locals())
        _c = _G_same_sequence(_bias_shape, normalized_shape)
        if _c is not True:
            _G_require(_c, locals())
    return _device, ((_input_shape, _input_dtype),), (B,)
