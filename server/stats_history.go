package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/history"
	"nodal/server/runs"
)

// GetNodeHistory returns what was recorded of the node's usage.
func (s *statsService) GetNodeHistory(
	_ context.Context, r *nodev1.GetNodeHistoryRequest,
) (*nodev1.GetNodeHistoryResponse, error) {
	pasts, missing, err := s.ask(node.Key{}, r)
	if err != nil {
		return nil, err
	}
	answer := &nodev1.GetNodeHistoryResponse{Missing: missing}
	for _, p := range pasts {
		answer.Points = append(answer.Points, pointsOf(p.Points, r.GetMetrics())...)
	}
	return answer, nil
}

// GetPodHistory returns what was recorded of a pod, which may be gone.
func (s *statsService) GetPodHistory(
	_ context.Context, r *nodev1.GetPodHistoryRequest,
) (*nodev1.GetPodHistoryResponse, error) {
	key := node.Key{Namespace: r.GetNamespace(), Name: r.GetName()}
	pasts, missing, err := s.ask(key, r)
	if err != nil {
		return nil, err
	}
	answer := &nodev1.GetPodHistoryResponse{Uid: r.GetUid(), Missing: missing}
	for _, p := range pasts {
		answer.Uids = append(answer.Uids, string(p.UID))
	}
	if present, err := runs.Pod(s.pods, key); err == nil {
		if uid := string(present.Slot.Pod.UID()); !slices.Contains(answer.GetUids(), uid) {
			answer.Uids = append(answer.Uids, uid)
		}
	}
	if r.GetUid() == "" && len(answer.GetUids()) > 0 {
		answer.Uid = answer.GetUids()[len(answer.GetUids())-1]
	}
	if !slices.Contains(answer.GetUids(), answer.GetUid()) {
		return nil, fmt.Errorf("usage of pod %s with uid %q: none is recorded: %w", key, r.GetUid(), node.ErrNotFound)
	}
	for _, p := range pasts {
		if string(p.UID) != answer.GetUid() {
			continue
		}
		answer.Points = pointsOf(p.Points, r.GetMetrics())
		if p.MemoryLimit > 0 {
			answer.MemoryLimitBytes = &p.MemoryLimit
		}
		if p.CPULimit > 0 {
			answer.CpuLimitCores = new(float64(p.CPULimit) / 1000)
		}
	}
	return answer, nil
}

// span is the part of a request that says which points are wanted.
type span interface {
	GetSince() *timestamppb.Timestamp
	GetUntil() *timestamppb.Timestamp
	GetStep() *durationpb.Duration
}

// ask returns what was recorded of the pods of a key, and what is missing of it.
func (s *statsService) ask(key node.Key, r span) (pasts []history.Past, missing string, err error) {
	if s.past == nil {
		return nil, "", fmt.Errorf("usage: none is recorded; give --usage-history-size a size above 0: %w", node.ErrUnsupported)
	}
	q := history.Question{Key: key, Until: s.now().Unix()}
	if r.GetSince() != nil {
		q.Since = r.GetSince().AsTime().Unix()
	}
	if r.GetUntil() != nil {
		q.Until = r.GetUntil().AsTime().Unix()
	}
	if q.Since > q.Until {
		return nil, "", fmt.Errorf("usage since %s: it is later than until: %w", time.Unix(q.Since, 0).UTC().Format(time.RFC3339), node.ErrInvalid)
	}
	if step := r.GetStep(); step != nil {
		q.Step = int64(step.AsDuration() / time.Second)
		if q.Step < 1 {
			return nil, "", fmt.Errorf("usage in steps of %s: the least is a second: %w", step.AsDuration(), node.ErrInvalid)
		}
	}
	pasts, err = s.past(q)
	if err != nil {
		missing = err.Error()
	}
	return pasts, missing, nil
}

// pointsOf returns the points with the figures that are asked for; all if none is named.
func pointsOf(points []history.Point, metrics []nodev1.UsageMetric) []*nodev1.UsagePoint {
	wants := func(m nodev1.UsageMetric) bool { return len(metrics) == 0 || slices.Contains(metrics, m) }
	cpu, memory := wants(nodev1.UsageMetric_USAGE_METRIC_CPU), wants(nodev1.UsageMetric_USAGE_METRIC_MEMORY)
	tasks := wants(nodev1.UsageMetric_USAGE_METRIC_TASKS)
	all := make([]*nodev1.UsagePoint, len(points))
	for i, p := range points {
		to := &nodev1.UsagePoint{Time: &timestamppb.Timestamp{Seconds: p.At}}
		if cores, known := p.Cores(); cpu && known {
			to.Cores = &cores
		}
		if memory {
			to.WorkingSetBytes = new(p.Bytes())
		}
		if tasks {
			to.Tasks = new(p.Tasks)
		}
		all[i] = to
	}
	return all
}
