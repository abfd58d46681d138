package cgroup

import "strings"

// Words returns the words of a cgroup's path, as the kernel writes it, top first. A word is the same whether systemd
// made the cgroup or not: the UID of a pod after "pod", or the ID of a container. Only the dashes of a UID are underscores
// with systemd.
//
//	/kubepods/burstable/pod1-2/0c1d
//	/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-0c1d.scope
func Words(path string) []string {
	var words []string
	for word := range strings.SplitSeq(path, "/") {
		if unit, ok := cutUnit(word); ok {
			word = unit[strings.LastIndex(unit, "-")+1:]
		}
		if word != "" {
			words = append(words, word)
		}
	}
	return words
}

// cutUnit takes the suffix from the name of a unit of systemd.
func cutUnit(word string) (unit string, ok bool) {
	if unit, ok = strings.CutSuffix(word, ".slice"); ok {
		return unit, true
	}
	return strings.CutSuffix(word, ".scope")
}

// PodWords returns the words that the cgroup of a pod may have.
func PodWords(uid string) [2]string {
	return [2]string{podPrefix + uid, podPrefix + strings.ReplaceAll(uid, "-", "_")}
}
