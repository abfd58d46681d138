package decide

// awaited holds back a pod for which others have to end: their resources are its own once they no longer run.
func awaited(p *Plan, v *View) bool {
	if len(v.pod.Awaits) == 0 {
		return false
	}
	p.why("waiting for the end of pods that make room for it")
	return true
}
