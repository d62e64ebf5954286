# YaRNFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(x, input_layout, base, scaling_factor, original_max_position, beta_fast, beta_slow, attn_factor):
    S = None
    D = None
    B = None
    H = None
    _device = x.device
    if input_layout not in ('1d', '2d'):
        _G_reject(locals())
    if not ((0 < beta_slow) and (beta_slow <= beta_fast)):
        _G_reject(locals())
    if not ((base > 0) and (base != 1)):
        _G_reject(locals())
    _c = original_max_position > 0
    if _c is not True:
        _G_require(_c, locals())
    if not (scaling_factor > 0):
        _G_reject(locals())
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
    _c = (D % 2) == 0
    if _c is not True:
        _G_require(_c, locals())
    return _device, ((((S, D) if input_layout == '1d' else (B, S, H, D)), _x_dtype),), (B, D, H, S)
