# BatchNormFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(input, running_mean, running_var, weight, bias, training, momentum, eps):
    _device = input.device
    if not ((not training) or (eps > 0)):
        _G_reject(locals())
    if (running_var is not None) is not (running_mean is not None):
        _G_reject(locals())
    if not (training or (running_mean is not None)):
        _G_reject(locals())
    _input_shape = (*input.shape,)
    if len(_input_shape) < 2:
        _G_reject(locals())
    _input_dtype = input.dtype
    if _input_dtype not in _set0:
        _G_reject(locals())
    B = _input_shape[0]
    C = _input_shape[1]
    L = _input_shape[2:]
    if running_mean is not None:
        _running_mean_shape = running_mean.shape
        if len(_running_mean_shape) != 1:
            _G_reject(locals())
        if running_mean.dtype != _G_dtypes['float32']:
            _G_reject(locals())
        if running_mean.device != _device:
            _G_reject(locals())
        _c = _running_mean_shape[0] == C
        if _c is not True:
            _G_require(_c, locals())
    if running_var is not None:
        _running_var_shape = running_var.shape
        if len(_running_var_shape) != 1:
            _G_reject(locals())
        if running_var.dtype != _G_dtypes['float32']:
            _G_reject(locals())
        if running_var.device != _device:
            _G_reject(locals())
        _c = _running_var_shape[0] == C
        if _c is not True:
            _G_require(_c, locals())
    if weight is not None:
        _weight_shape = weight.shape
        if len(_weight_shape) != 1:
            _G_reject(locals())
        if weight.dtype != _G_dtypes['float32']:
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
        if bias.dtype != _G_dtypes['float32']:
            _G_reject(locals())
        if bias.device != _device:
            _G_reject(locals())
        _c = _bias_shape[0] == C
        if _c is not True:
            _G_require(_c, locals())
    _c = _G_disjunction((not training), lambda: ((B * _G_p_prod(L)) != 1))
    if _c is not True:
        _G_require(_c, locals())
    return _device, ((_input_shape, _input_dtype), (((C,), _G_dtypes['float32']) if training else None), (((C,), _G_dtypes['float32']) if training else None),), (B, C, L)


def overload(input, running_mean, running_var, weight, bias, training, momentum, eps):
    if (training and (running_mean is not None)) and (training and (running_mean is not None)):
        return 'writes_running_mean_running_var'
    return 'default'
