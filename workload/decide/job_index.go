package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// indexes are those of an indexed job that have succeeded, in order, with others between two spans. A job may have billions
// of them, so they are never listed one by one.
type indexes []span

// span is the indexes from the first to the last.
type span struct{ first, last int }

// indexesIn reads what text has written, such as 1,3-5,7. Anyone who may write a status has written it, so what is no index
// of a job with so many completions does not count.
func indexesIn(text string, completions int) indexes {
	var all indexes
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
		if one := (span{max(0, from), min(to, completions-1)}); one.first <= one.last {
			all = append(all, one)
		}
	}
	return joined(all)
}

// joined puts spans in order, and makes one of those that touch.
func joined(spans indexes) (all indexes) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	for _, s := range spans {
		if n := len(all); n > 0 && s.first <= all[n-1].last+1 {
			all[n-1].last = max(all[n-1].last, s.last)
		} else {
			all = append(all, s)
		}
	}
	return all
}

// next returns the first index from this one on that has not succeeded.
func (x indexes) next(index int) int {
	for _, s := range x {
		if s.first <= index && index <= s.last {
			index = s.last + 1
		}
	}
	return index
}

func (x indexes) size() (sum int) {
	for _, s := range x {
		sum += s.last - s.first + 1
	}
	return sum
}

func (x indexes) text() string {
	var parts []string
	for _, s := range x {
		if s.first == s.last {
			parts = append(parts, strconv.Itoa(s.first))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", s.first, s.last))
		}
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
	for index := r.done.next(0); index < r.completions() && n > 0; index = r.done.next(index + 1) {
		if !busy[index] {
			r.makePod(r.of, r.indexedPod(index))
			n--
		}
	}
}

// completions returns how many indexes an indexed job has.
func (r *run) completions() int { return int(number(r.of.Spec.Completions, 0)) }

// inRange reports whether a pod of the job has one of its indexes. A job without indexes wants any pod.
func (r *run) inRange(p *corev1.Pod) bool {
	index := indexOf(p)
	return !r.indexed() || index >= 0 && index < r.completions()
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
