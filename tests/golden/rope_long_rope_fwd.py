# LongRoPEFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(x, rescale_factors, input_layout, base, max_position, original_max_position):
    R = None
    S = None
    D = None
    B = None
    H = None
    _device = x.device
    if input_layout not in ('1d', '2d'):
        _G_reject(locals())
    if rescale_factors is not None:
        _rescale_factors_shape = rescale_factors.shape
        if len(_rescale_factors_shape) != 1:
            _G_reject(locals())
        if rescale_factors.dtype not in _set0:
            _G_reject(locals())
        R = _G_dtype_names[rescale_factors.dtype]
    if not (base > 0):
        _G_reject(locals())
    _c = max_position > 0
    if _c is not True:
        _G_require(_c, locals())
    _c = original_max_position > 1
    if _c is not True:
        _G_require(_c, locals())
    _x_shape = x.shape
    if input_layout == '1d':
        if len(_x_shape) != 2:
            _G_reject(locals())
    if input_layout == '2d':
        if len(_x_shape) != 4:
            _G_reject(locals())
    _x_dtype = x.dtype
    if _x_dtype not in _set0:
        _G_reject(locals())
    if input_layout == '1d':
        S, D = _x_shape
    if input_layout == '2d':
        B, S, H, D = _x_shape
    if rescale_factors is not None:
        _c = _rescale_factors_shape[0] == (D // 2)
        if _c is not True:
            _G_require(_c, locals())
    _c = (D % 2) == 0
    if _c is not True:
        _G_require(_c, locals())
    return _device, ((((S, D) if input_layout == '1d' else (B, S, H, D)), _x_dtype),), (B, D, H, S)
