package server

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apimachinery/pkg/api/resource"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node/health"
)

// GetPressure shows how far the node is from running short, and the pods that it would evict next.
func (s *nodeService) GetPressure(ctx context.Context, r *nodev1.GetPressureRequest) (*nodev1.GetPressureResponse, error) {
	if name := r.GetSignal(); name != "" && !slices.Contains(health.SignalNames(), name) {
		return nil, status.Errorf(codes.InvalidArgument, "signal %q: no such signal; the signals are %q", name, health.SignalNames())
	}
	p := s.vitals.Pressure(ctx)
	answer := &nodev1.GetPressureResponse{MeasuredAt: timestamppb.New(p.At)}
	for _, name := range health.SignalNames() {
		if shown := signalOf(name, p); shown != nil {
			answer.Signals = append(answer.Signals, shown)
		}
	}
	if s.ranking == nil {
		return answer, nil
	}
	of, pods, err := s.ranking(ctx, r.GetSignal(), p)
	if err != nil {
		answer.Message = err.Error()
	}
	answer.Signal = of
	for _, c := range pods {
		answer.Pods = append(answer.Pods, &nodev1.EvictionCandidate{
			Namespace: c.Key.Namespace, Name: c.Key.Name, Uid: string(c.UID),
			Used: c.Used, Requested: c.Requested, Priority: c.Priority, Reason: c.Why,
		})
	}
	return answer, nil
}

// signalOf returns a signal with its thresholds, or nil if the node does not have it.
func signalOf(name string, p health.Pressure) *nodev1.PressureSignal {
	shown := &nodev1.PressureSignal{Name: name}
	for _, u := range p.Unread {
		if u.Name == name {
			shown.Message = u.Why
		}
	}
	signal, read := p.Signal(name)
	if !read && shown.Message == "" {
		return nil
	}
	if read {
		of := health.Lacks(name)
		shown.Capacity, shown.Available = health.Amount(of, signal.Capacity), health.Amount(of, signal.Left)
	}
	for _, rule := range p.Rules {
		if rule.Signal == name {
			shown.Thresholds = append(shown.Thresholds, thresholdOf(rule, signal, p.Crossed(rule)))
		}
	}
	return shown
}

func thresholdOf(rule health.Rule, signal health.Signal, crossed *health.Crossing) *nodev1.PressureThreshold {
	capacity := *resource.NewQuantity(signal.Capacity, resource.BinarySI)
	least, reclaim := rule.Least.Of(capacity), rule.Reclaim.Of(capacity)
	shown := &nodev1.PressureThreshold{Least: least.String()}
	if rule.Grace > 0 {
		shown.Grace = durationpb.New(rule.Grace)
	}
	if !reclaim.IsZero() {
		shown.MinimumReclaim = reclaim.String()
	}
	if crossed != nil {
		shown.CrossedAt, shown.Due = timestamppb.New(crossed.Since), crossed.Due
	}
	return shown
}
