# FusedAddRMSNormPerTokenQuantFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(input, residual, weight, quant_dtype, eps, scale_ub):
    _device = input.device
    _quant_dtype = _G_dtype_names.get(quant_dtype)
    if _quant_dtype not in ('int8', 'float8_e4m3fn'):
        _G_reject(locals())
    if not ((not (scale_ub is not None)) or (_quant_dtype == 'float8_e4m3fn')):
        _G_reject(locals())
    if not ((not (scale_ub is not None)) or (scale_ub > 0)):
        _G_reject(locals())
    _input_shape = (*input.shape,)
    if len(_input_shape) < 1:
        _G_reject(locals())
    _input_dtype = input.dtype
    if _input_dtype not in _set0:
        _G_reject(locals())
    B = _input_shape[:-1]
    N = _input_shape[-1]
    _residual_shape = (*residual.shape,)
    if len(_residual_shape) != len(B) + 1:
        _G_reject(locals())
    if residual.dtype != _input_dtype:
        _G_reject(locals())
    if residual.device != _device:
        _G_reject(locals())
    _c = _G_same_sequence(_residual_shape[:len(B)], B)
    if _c is not True:
        _G_require(_c, locals())
    _c = _residual_shape[-1] == N
    if _c is not True:
        _G_require(_c, locals())
    _weight_shape = weight.shape
    if len(_weight_shape) != 1:
        _G_reject(locals())
    if weight.dtype != _input_dtype:
        _G_reject(locals())
    if weight.device != _device:
        _G_reject(locals())
    _c = _weight_shape[0] == N
    if _c is not True:
        _G_require(_c, locals())
    return _device, ((_input_shape, _G_dtypes[_quant_dtype]), ((*B, 1), _G_dtypes['float32']), (_input_shape, _input_dtype),), (B, N)
