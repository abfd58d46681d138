# fish completion of kubelet and nodal
function __nodal_complete
  set -l before (commandline -opc)
  set -l last (commandline -ct)
  $before[1] __complete $before[2..-1] "$last" 2>/dev/null
end
complete -c kubelet -a '(__nodal_complete)'
complete -c nodal -a '(__nodal_complete)'
