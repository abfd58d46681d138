package decide

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// indexes are those of an indexed job that have succeeded.
type indexes map[int]bool

// indexesIn reads what text has written, such as 1,3-5,7.
func indexesIn(text string) indexes {
	all := indexes{}
	for part := range strings.SplitSeq(text, ",") {
		first, last, found := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if found && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err != nil {
			continue
		}
		for i := from; i <= to; i++ {
			all[i] = true
		}
	}
	return all
}

func (x indexes) add(index, below int) {
	if index >= 0 && index < below {
		x[index] = true
	}
}

func (x indexes) text() string {
	var parts []string
	sorted := slices.Sorted(maps.Keys(x))
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		switch {
		case j == i:
			parts = append(parts, strconv.Itoa(sorted[i]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", sorted[i], sorted[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// indexOf returns the index of a pod, or -1.
func indexOf(p *corev1.Pod) int {
	index, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil {
		return -1
	}
	return index
}

// makePods makes pods of the job. Those of an indexed one get the lowest indexes that neither run nor have succeeded.
func (r *run) makePods(n int) {
	if !r.indexed() {
		for range n {
			r.makePod(r.of, r.podOf(r.of, r.of.Name+"-"))
		}
		return
	}
	busy := map[int]bool{}
	for _, p := range r.pods {
		if !ended(p) {
			busy[indexOf(p)] = true
		}
	}
	for index := 0; index < int(number(r.of.Spec.Completions, 0)) && n > 0; index++ {
		if !busy[index] && !r.done[index] {
			r.makePod(r.of, r.indexedPod(index))
			n--
		}
	}
}

const indexVariable = "JOB_COMPLETION_INDEX"

func (r *run) indexedPod(index int) *corev1.Pod {
	text := strconv.Itoa(index)
	pod := r.podOf(r.of, r.of.Name+"-"+text+"-")
	for _, set := range []*map[string]string{&pod.Labels, &pod.Annotations} {
		if *set == nil {
			*set = map[string]string{}
		}
		(*set)[batchv1.JobCompletionIndexAnnotation] = text
	}
	if pod.Spec.Hostname == "" {
		pod.Spec.Hostname = r.of.Name + "-" + text
	}
	from := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		APIVersion: "v1", FieldPath: "metadata.annotations['" + batchv1.JobCompletionIndexAnnotation + "']",
	}}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if !slices.ContainsFunc(list[i].Env, func(v corev1.EnvVar) bool { return v.Name == indexVariable }) {
				list[i].Env = append(list[i].Env, corev1.EnvVar{Name: indexVariable, ValueFrom: from})
			}
		}
	}
	return pod
}
