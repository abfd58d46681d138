package server

import "strconv"

// listText writes a ListPodsResponse exactly as protojson would.
func listText(pods []rendered, revision int64) []byte {
	const head, typed, around = `{"pods":[`, `,"object":{"apiVersion":"v1","kind":"Pod",`, len(`{"pods":[],"revision":""}`) + 20
	size := around
	for _, pod := range pods {
		size += len(pod.summary) + len(typed) + len(pod.object) + 1
	}
	text := append(make([]byte, 0, size), head...)
	for i, pod := range pods {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, pod.summary[:len(pod.summary)-1]...)
		text = append(text, typed...)
		text = append(text, pod.object[1:]...)
		text = append(text, '}')
	}
	text = append(text, `],"revision":"`...)
	text = strconv.AppendInt(text, revision, 10)
	return append(text, "\"}\n"...)
}
