# BatchNormBwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(doutput, input, save_mean, save_invstd, weight):
    _device = doutput.device
    _doutput_shape = (*doutput.shape,)
    if len(_doutput_shape) < 2:
        _G_reject(locals())
    _doutput_dtype = doutput.dtype
    if _doutput_dtype not in _set0:
        _G_reject(locals())
    B = _doutput_shape[0]
    C = _doutput_shape[1]
    L = _doutput_shape[2:]
    _input_shape = (*input.shape,)
    if len(_input_shape) != len(L) + 2:
        _G_reject(locals())
    if input.dtype != _doutput_dtype:
        _G_reject(locals())
    if input.device != _device:
        _G_reject(locals())
    _c = _input_shape[0] == B
    if _c is not True:
        _G_require(_c, locals())
    _c = _input_shape[1] == C
    if _c is not True:
        _G_require(_c, locals())
    _c = _G_same_sequence(_input_shape[2:2 + len(L)], L)
    if _c is not True:
        _G_require(_c, locals())
    _save_mean_shape = save_mean.shape
    if len(_save_mean_shape) != 1:
        _G_reject(locals())
    if save_mean.dtype != _G_dtypes['float32']:
        _G_reject(locals())
    if save_mean.device != _device:
        _G_reject(locals())
    _c = _save_mean_shape[0] == C
    if _c is not True:
        _G_require(_c, locals())
    _save_invstd_shape = save_invstd.shape
    if len(_save_invstd_shape) != 1:
        _G_reject(locals())
    if save_invstd.dtype != _G_dtypes['float32']:
        _G_reject(locals())
    if save_invstd.device != _device:
        _G_reject(locals())
    _c = _save_invstd_shape[0] == C
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
    _c = (B * _G_p_prod(L)) != 1
    if _c is not True:
        _G_require(_c, locals())
    return _device, ((_doutput_shape, _doutput_dtype), (_save_mean_shape, _G_dtypes['float32']), (_save_mean_shape, _G_dtypes['float32']),), (B, C, L)
