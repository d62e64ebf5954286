# INT4QuantPerGroupFwdOp
_set0 = _G_dtype_set(('float16',))


def infer(w, group_size):
    try:
        _device = w.device
        _c = _G_conjunction((group_size > 0), lambda: ((group_size % 2) == 0))
        if _c is not True:
            _G_require(_c, locals())
        _w_shape = w.shape
        if len(_w_shape) != 2:
            _G_reject(locals())
        _w_dtype = w.dtype
        if _w_dtype not in _set0:
            _G_reject(locals())
        N, K = _w_shape
        _c = (K % 2) == 0
        if _c is not True:
            _G_require(_c, locals())
        _c = _G_modulo((N * K), group_size) == 0
        if _c is not True:
            _G_require(_c, locals())
        _c = _G_floor_div((N * K), group_size) >= 0
        if _c is not True:
            _G_require(_c, locals())
        return _device, (((N, (K // 2)), _G_dtypes['int8']), ((_G_floor_div((N * K), group_size), 2), _G_dtypes['float32']),), (K, N)
    except _G_DomainError:
        _G_reject(locals())
