# AdaLayerNormZeroFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(x, scale, shift, gate, eps):
    _device = x.device
    _x_shape = (*x.shape,)
    if len(_x_shape) < 1:
        _G_reject(locals())
    _x_dtype = x.dtype
    if _x_dtype not in _set0:
        _G_reject(locals())
    B = _x_shape[:-1]
    N = _x_shape[-1]
    _scale_shape = (*scale.shape,)
    if len(_scale_shape) != len(B) + 1:
        _G_reject(locals())
    if scale.dtype != _x_dtype:
        _G_reject(locals())
    if scale.device != _device:
        _G_reject(locals())
    _c = _G_same_sequence(_scale_shape[:len(B)], B)
    if _c is not True:
        _G_require(_c, locals())
    _c = _scale_shape[-1] == N
    if _c is not True:
        _G_require(_c, locals())
    _shift_shape = (*shift.shape,)
    if len(_shift_shape) != len(B) + 1:
        _G_reject(locals())
    if shift.dtype != _x_dtype:
        _G_reject(locals())
    if shift.device != _device:
        _G_reject(locals())
    _c = _G_same_sequence(_shift_shape[:len(B)], B)
    if _c is not True:
        _G_require(_c, locals())
    _c = _shift_shape[-1] == N
    if _c is not True:
        _G_require(_c, locals())
    _gate_shape = (*gate.shape,)
    if len(_gate_shape) != len(B) + 1:
        _G_reject(locals())
    if gate.dtype != _x_dtype:
        _G_reject(locals())
    if gate.device != _device:
        _G_reject(locals())
    _c = _G_same_sequence(_gate_shape[:len(B)], B)
    if _c is not True:
        _G_require(_c, locals())
    _c = _gate_shape[-1] == N
    if _c is not True:
        _G_require(_c, locals())
    return _device, ((_x_shape, _x_dtype),), (B, N)
