# GQADenseWithLSEFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16'))


def infer(q, k, v, is_causal, window_size_left, window_size_right, sm_scale, softcap):
    try:
        _device = q.device
        if not ((not (softcap is not None)) or (softcap > 0)):
            _G_reject(locals())
        _c = _G_conjunction((window_size_left >= (-1)), lambda: (window_size_right >= (-1)))
        if _c is not True:
            _G_require(_c, locals())
        _q_shape = q.shape
        if len(_q_shape) != 4:
            _G_reject(locals())
        _q_dtype = q.dtype
        if _q_dtype not in _set0:
            _G_reject(locals())
        B, S_q, H, D = _q_shape
        _k_shape = k.shape
        if len(_k_shape) != 4:
            _G_reject(locals())
        if k.dtype != _q_dtype:
            _G_reject(locals())
        if k.device != _device:
            _G_reject(locals())
        _0, S_kv, H_kv, _3 = _k_shape
        _c = _0 == B
        if _c is not True:
            _G_require(_c, locals())
        _c = _3 == D
        if _c is not True:
            _G_require(_c, locals())
        _v_shape = v.shape
        if len(_v_shape) != 4:
            _G_reject(locals())
        if v.dtype != _q_dtype:
            _G_reject(locals())
        if v.device != _device:
            _G_reject(locals())
        _0, _1, _2, _3 = _v_shape
        _c = _0 == B
        if _c is not True:
            _G_require(_c, locals())
        _c = _1 == S_kv
        if _c is not True:
            _G_require(_c, locals())
        _c = _2 == H_kv
        if _c is not True:
            _G_require(_c, locals())
        _c = _3 == D
        if _c is not True:
            _G_require(_c, locals())
        _c = _G_modulo(H, H_kv) == 0
        if _c is not True:
            _G_require(_c, locals())
        return _device, ((_q_shape, _q_dtype), ((B, H, S_q), _G_dtypes['float32']),), (B, D, H, H_kv, S_kv, S_q)
    except _G_DomainError:
        _G_reject(locals())
