# GQADenseFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16', 'float8_e4m3fn'))
_set1 = _G_dtype_set(('float8_e4m3fn',))
_set2 = _G_dtype_set(('float16', 'bfloat16'))


def infer(q, k, v, q_scale, k_scale, v_scale, rope_cos, rope_sin, sinks, is_causal, window_size_left, window_size_right, sm_scale, softcap, pos_encoding_mode, rotary_dim, rope_layout, out_dtype):
    try:
        P_pad = None
        R = None
        _device = q.device
        _out_dtype = _G_dtype_names.get(out_dtype)
        if pos_encoding_mode not in ('none', 'rope'):
            _G_reject(locals())
        if rope_layout not in ('neox', 'interleaved'):
            _G_reject(locals())
        if out_dtype is not None and _out_dtype not in ('float16', 'bfloat16'):
            _G_reject(locals())
        if not ((not (softcap is not None)) or (softcap > 0)):
            _G_reject(locals())
        _c = _G_conjunction((window_size_left >= (-1)), lambda: (window_size_right >= (-1)))
        if _c is not True:
            _G_require(_c, locals())
        if (k_scale is not None) is not (q_scale is not None):
            _G_reject(locals())
        if (v_scale is not None) is not (q_scale is not None):
            _G_reject(locals())
        if (rope_cos is not None) is not (pos_encoding_mode == 'rope'):
            _G_reject(locals())
        if (rope_sin is not None) is not (pos_encoding_mode == 'rope'):
            _G_reject(locals())
        _q_shape = q.shape
        if len(_q_shape) != 4:
            _G_reject(locals())
        _q_dtype = q.dtype
        if _q_dtype not in _set0:
            _G_reject(locals())
        T = _G_dtype_names[_q_dtype]
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
        if q_scale is not None:
            _q_scale_shape = q_scale.shape
            if len(_q_scale_shape) != 2:
                _G_reject(locals())
            if q_scale.dtype != _G_dtypes['float32']:
                _G_reject(locals())
            if q_scale.device != _device:
                _G_reject(locals())
            _0, _1 = _q_scale_shape
            _c = _0 == B
            if _c is not True:
                _G_require(_c, locals())
            _c = _1 == H_kv
            if _c is not True:
                _G_require(_c, locals())
        if k_scale is not None:
            _k_scale_shape = k_scale.shape
            if len(_k_scale_shape) != 2:
                _G_reject(locals())
            if k_scale.dtype != _G_dtypes['float32']:
                _G_reject(locals())
            if k_scale.device != _device:
                _G_reject(locals())
            _0, _1 = _k_scale_shape
            _c = _0 == B
            if _c is not True:
                _G_require(_c, locals())
            _c = _1 == H_kv
            if _c is not True:
                _G_require(_c, locals())
        if v_scale is not None:
            _v_scale_shape = v_scale.shape
            if len(_v_scale_shape) != 2:
                _G_reject(locals())
            if v_scale.dtype != _G_dtypes['float32']:
                _G_reject(locals())
            if v_scale.device != _device:
                _G_reject(locals())
            _0, _1 = _v_scale_shape
            _c = _0 == B
            if _c is not True:
                _G_require(_c, locals())
            _c = _1 == H_kv
            if _c is not True:
                _G_require(_c, locals())
        if rope_cos is not None:
            _rope_cos_shape = rope_cos.shape
            if len(_rope_cos_shape) != 2:
                _G_reject(locals())
            if _G_dtype_names.get(rope_cos.dtype) != _G_p_coalesce_dtype(_out_dtype, T):
                _G_reject(locals())
            if rope_cos.device != _device:
                _G_reject(locals())
            P_pad = _rope_cos_shape[0] - S_kv
            _c = P_pad >= 0
            if _c is not True:
                _G_require(_c, locals())
        if rope_sin is not None:
            _rope_sin_shape = rope_sin.shape
            if len(_rope_sin_shape) != 2:
                _G_reject(locals())
            if _G_dtype_names.get(rope_sin.dtype) != _G_p_coalesce_dtype(_out_dtype, T):
                _G_reject(locals())
            if rope_sin.device != _device:
                _G_reject(locals())
            _c = _rope_sin_shape[0] == (S_kv + P_pad)
            if _c is not True:
                _G_require(_c, locals())
        if (pos_encoding_mode == 'rope') or (rope_cos is not None) or (rope_sin is not None):
            R = rotary_dim if (rotary_dim is not None) else D
        if rope_cos is not None:
            _c = _rope_cos_shape[1] == (R // 2)
            if _c is not True:
                _G_require(_c, locals())
        if rope_sin is not None:
            _c = _rope_sin_shape[1] == (R // 2)
            if _c is not True:
                _G_require(_c, locals())
        if sinks is not None:
            _sinks_shape = sinks.shape
            if len(_sinks_shape) != 1:
                _G_reject(locals())
            if sinks.dtype != _G_dtypes['float32']:
                _G_reject(locals())
            if sinks.device != _device:
                _G_reject(locals())
            _c = _sinks_shape[0] == H
            if _c is not True:
                _G_require(_c, locals())
        _c = _G_modulo(H, H_kv) == 0
        if _c is not True:
            _G_require(_c, locals())
        if not ((not (q_scale is not None)) or (_q_dtype in _set1)):
            _G_reject(locals())
        _c = _G_disjunction((pos_encoding_mode != 'rope'), lambda: _G_conjunction((0 < R), lambda: (R <= D)))
        if _c is not True:
            _G_require(_c, locals())
        _c = _G_disjunction((pos_encoding_mode != 'rope'), lambda: ((R % 2) == 0))
        if _c is not True:
            _G_require(_c, locals())
        _c = _G_disjunction((pos_encoding_mode != 'rope'), lambda: (S_q <= S_kv))
        if _c is not True:
            _G_require(_c, locals())
        if not ((out_dtype is not None) or (_q_dtype in _set2)):
            _G_reject(locals())
        return _device, ((_q_shape, _G_dtypes[_G_p_coalesce_dtype(_out_dtype, T)]),), (B, D, H, H_kv, P_pad, R, S_kv, S_q)
    except _G_DomainError:
        _G_reject(locals())
