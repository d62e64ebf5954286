# FusedAddRMSNormFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16'))


def infer(input, residual, weight, eps):
    _device = input.device
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
    return _device, ((_input_shape, _input_dtype), (_input_shape, _input_dtype),), (B, N)
