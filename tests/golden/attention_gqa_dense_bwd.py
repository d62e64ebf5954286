# GQADenseBwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16'))


def infer(do, q, k, v, o, lse, is_causal, window_size_left, window_size_right, sm_scale, softcap):
    try:
        _device = do.device
        if not ((not (softcap is not None)) or (softcap > 0)):
            _G_reject(locals())
        _c = _G_conjunction((window_size_left >= (-1)), lambda: (window_size_right >= (-1)))
        if _c is not True:
            _G_require(_c, locals())
        _do_shape = do.shape
        if len(_do_shape) != 4:
            _G_reject(locals())
        _do_dtype = do.dtype
        if _do_dtype not in _set0:
            _G_reject(locals())
        B, S, H, D = _do_shape
        _q_shape = q.shape
        if len(_q_shape) != 4:
            _G_reject(locals())
        if q.dtype != _do_dtype:
            _G_reject(locals())
        if q.device != _device:
            _G_reject(locals())
        _0, _1, _2, _3 = _q_shape
        _c = _0 == B
        if _c is not True:
            _G_require(_c, locals())
        _c = _1 == S
        if _c is not True:
            _G_require(_c, locals())
        _c = _2 == H
        if _c is not True:
            _G_require(_c, locals())
        _c = _3 == D
        if _c is not True:
            _G_require(_c, locals())
        _k_shape = k.shape
        if len(_k_shape) != 4:
            _G_reject(locals())
        if k.dtype != _do_dtype:
            _G_reject(locals())
        if k.device != _device:
            _G_reject(locals())
        _0, _1, H_kv, _3 = _k_shape
        _c = _0 == B
        if _c is not True:
            _G_require(_c, locals())
        _c = _1 == S
        if _c is not True:
            _G_require(_c, locals())
        _c = _3 == D
        if _c is not True:
            _G_require(_c, locals())
        _v_shape = v.shape
        if len(_v_shape) != 4:
            _G_reject(locals())
        if v.dtype != _do_dtype:
            _G_reject(locals())
        if v.device != _device:
            _G_reject(locals())
        _0, _1, _2, _3 = _v_shape
        _c = _0 == B
        if _c is not True:
            _G_require(_c, locals())
        _c = _1 == S
        if _c is not True:
            _G_require(_c, locals())
        _c = _2 == H_kv
        if _c is not True:
            _G_require(_c, locals())
        _c = _3 == D
        if _c is not True:
            _G_require(_c, locals())
        _o_shape = o.shape
        if len(_o_shape) != 4:
            _G_reject(locals())
        if o.dtype != _do_dtype:
            _G_reject(locals())
        if o.device != _device:
            _G_reject(locals())
        _0, _1, _2, _3 = _o_shape
        _c = _0 == B
        if _c is not True:
            _G_require(_c, locals())
        _c = _1 == S
        if _c is not True:
            _G_require(_c, locals())
        _c = _2 == H
        if _c is not True:
            _G_require(_c, locals())
        _c = _3 == D
        if _c is not True:
            _G_require(_c, locals())
        _lse_shape = lse.shape
        if len(_lse_shape) != 3:
            _G_reject(locals())
        if lse.dtype != _G_dtypes['float32']:
            _G_reject(locals())
        if lse.device != _device:
            _G_reject(locals())
        _0, _1, _2 = _lse_shape
        _c = _0 == B
        if _c is not True:
            _G_require(_c, locals())
        _c = _1 == H
        if _c is not True:
            _G_require(_c, locals())
        _c = _2 == S
        if _c is not True:
            _G_require(_c, locals())
        _c = _G_modulo(H, H_kv) == 0
        if _c is not True:
            _G_require(_c, locals())
        return _device, ((_do_shape, _do_dtype), (_k_shape, _do_dtype), (_k_shape, _do_dtype),), (B, D, H, H_kv, S)
    except _G_DomainError:
        _G_reject(locals())
