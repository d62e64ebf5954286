# RoPENeoxPositionIdsFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float32'))
_set1 = _G_dtype_set(('int32', 'int64'))


def infer(x, positions, max_position, base, rotary_dim):
    _device = x.device
    if not (base > 0):
        _G_reject(locals())
    _c = max_position > 0
    if _c is not True:
        _G_require(_c, locals())
    _x_shape = x.shape
    if len(_x_shape) != 3:
        _G_reject(locals())
    _x_dtype = x.dtype
    if _x_dtype not in _set0:
        _G_reject(locals())
    N, H, D = _x_shape
    _positions_shape = positions.shape
    if len(_positions_shape) != 1:
        _G_reject(locals())
    _positions_dtype = positions.dtype
    if _positions_dtype not in _set1:
        _G_reject(locals())
    if positions.device != _device:
        _G_reject(locals())
    _c = _positions_shape[0] == N
    if _c is not True:
        _G_require(_c, locals())
    R = rotary_dim if (rotary_dim is not None) else D
    _c = _G_conjunction((0 <= R), lambda: (R <= D))
    if _c is not True:
        _G_require(_c, locals())
    _c = (R % 2) == 0
    if _c is not True:
        _G_require(_c, locals())
    return _device, ((_x_shape, _x_dtype),), (D, H, N, R)
