#compdef kubelet nodal
_nodal_complete() {
  local -a fits
  fits=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${fits[1]}" ]]; then
    compadd -- "${fits[@]}"
  else
    _files
  fi
}
(( $+functions[compdef] )) && compdef _nodal_complete kubelet nodal
