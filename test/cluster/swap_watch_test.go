package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// turns turns pods from ready to unready, or back, under the kubelet that runs now.
func (s *swap) turns(pods ...string) {
	s.t.Helper()
	for _, name := range pods {
		was := ready(s.pod(name))
		s.read(name, "if [ -e /ok ]; then rm /ok; else touch /ok; fi")
		s.eventually(name+" turned", func() bool { return ready(s.pod(name)) != was })
	}
}

// watch follows the pods in the API server. The function that it returns ends that, and fails the test if one of them was
// seen to change from ready to unready, or back.
func (s *swap) watch(leaves bool) (end func()) {
	s.t.Helper()
	list, _ := get[corev1.PodList](s.plane, podsPath)
	was := map[string]bool{}
	for i := range list.Items {
		was[list.Items[i].Name] = ready(&list.Items[i])
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	client := *s.client
	client.Timeout = 0
	answer, err := s.Get(ctx, &client, podsPath+"?watch=1&resourceVersion="+list.ResourceVersion)
	must(s.t, err)
	seen := make(chan []string)
	go func() {
		var turned []string
		decoder := json.NewDecoder(answer.Body)
		for {
			var event struct {
				Type   watch.EventType
				Object corev1.Pod
			}
			if err := decoder.Decode(&event); err != nil {
				if !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
					turned = append(turned, err.Error())
				}
				seen <- turned
				return
			}
			if p := &event.Object; event.Type == watch.Modified && ready(p) != was[p.Name] && !(leaves && isStatic(p.Name)) {
				turned = append(turned, fmt.Sprintf("%s turned ready=%t", p.Name, ready(p)))
			}
		}
	}()
	return func() {
		s.t.Helper()
		cancel()
		for _, turned := range <-seen {
			s.t.Error(turned)
		}
		answer.Body.Close()
	}
}
