package server

import (
	"context"
	"fmt"
	"time"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
	"nodal/node/policy"
	"nodal/server/auth"
)

// manifestService applies and deletes bundles, whole or not at all.
type manifestService struct {
	nodev1.UnimplementedManifestsServiceServer
	intake intake.Intake
	now    func() time.Time
	limit  int // bytes of a bundle
	ahead  foresight
}

var _ nodev1.ManifestsServiceServer = (*manifestService)(nil)

// Apply makes the bundle the desired state of its pods and objects.
func (s *manifestService) Apply(ctx context.Context, r *nodev1.ApplyRequest) (*nodev1.ApplyResponse, error) {
	deliveries, err := deliver(ctx, r.GetManifest(), s.limit, manifest.Options{IfEmpty: howToSend})
	if err != nil {
		return nil, err
	}
	for i := range deliveries {
		deliveries[i].Since = r.UnchangedSince
	}
	outcomes, revision, err := s.intake.Apply(deliveries, s.now())
	if err != nil {
		return nil, err
	}
	return &nodev1.ApplyResponse{Outcomes: outcomesOf(outcomes), Revision: revision}, nil
}

// Plan returns what Apply would do.
func (s *manifestService) Plan(ctx context.Context, r *nodev1.PlanRequest) (*nodev1.PlanResponse, error) {
	deliveries, err := deliver(ctx, r.GetManifest(), s.limit, manifest.Options{IfEmpty: howToSend})
	if err != nil {
		return nil, err
	}
	outcomes, err := s.intake.Plan(deliveries, s.now())
	if err != nil {
		return nil, err
	}
	s.ahead.warn(ctx, deliveries, outcomes)
	return &nodev1.PlanResponse{Outcomes: outcomesOf(outcomes)}, nil
}

// Delete deletes the pods and objects that the bundle names. The bundle need not be valid:
// a manifest from before a rule can be deleted after it.
func (s *manifestService) Delete(ctx context.Context, r *nodev1.DeleteRequest) (*nodev1.DeleteResponse, error) {
	if err := checkSize(r.GetManifest(), s.limit); err != nil {
		return nil, err
	}
	grace, err := graceOf(r.GracePeriodSeconds)
	if err != nil {
		return nil, err
	}
	names, err := namesIn(r.GetManifest())
	if err != nil {
		return nil, err
	}
	if err := mayReach(ctx, names.all()); err != nil {
		return nil, err
	}
	outcomes, revision, err := s.intake.DeleteAll(names.pods, names.objects, grace, r.UnchangedSince, s.now())
	if err != nil {
		return nil, err
	}
	return &nodev1.DeleteResponse{Outcomes: outcomesOf(outcomes), Revision: revision}, nil
}

// howToSend ends the error for a request without a manifest.
const howToSend = "send the manifest as the body of the request: curl --data-binary @FILE"

// checkSize refuses a manifest that is too large.
func checkSize(text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("manifest of %d bytes: at most %d are taken: %w", len(text), limit, node.ErrTooLarge)
	}
	return nil
}

// deliver decodes a bundle for the intake.
func deliver(ctx context.Context, text string, limit int, opts manifest.Options) ([]intake.Delivery, error) {
	if err := checkSize(text, limit); err != nil {
		return nil, err
	}
	opts.Managed = poster(ctx) != policy.Cluster // a cluster keeps account of its own
	docs, err := manifest.Decode([]byte(text), opts)
	if err != nil {
		return nil, err
	}
	deliveries, refs := make([]intake.Delivery, len(docs)), make([]node.ObjectRef, len(docs))
	for i, doc := range docs {
		if doc.Pod != nil {
			refs[i] = podRef(node.KeyOf(doc.Pod))
		} else {
			refs[i] = doc.Object.Ref()
		}
		deliveries[i] = intake.Delivery{Pod: doc.Pod, Object: doc.Object, Document: doc.Index, By: poster(ctx)}
		if poster(ctx) == policy.Cluster {
			deliveries[i].Told = &doc.Status
		}
	}
	return deliveries, mayReach(ctx, refs)
}

func podRef(key node.Key) node.ObjectRef {
	return node.ObjectRef{Kind: "Pod", Namespace: key.Namespace, Name: key.Name}
}

// mayReach refuses a bundle with anything outside of the caller's namespaces.
func mayReach(ctx context.Context, refs []node.ObjectRef) error {
	for _, ref := range refs {
		if err := auth.RequireNamespace(ctx, ref.Namespace, ref.String()); err != nil {
			return err
		}
	}
	return nil
}

func outcomesOf(outcomes []intake.Outcome) []*nodev1.Outcome {
	all := make([]*nodev1.Outcome, len(outcomes))
	for i, o := range outcomes {
		all[i] = outcomeOf(o)
	}
	return all
}

func outcomeOf(o intake.Outcome) *nodev1.Outcome {
	kind, namespace, name := "Pod", o.Key.Namespace, o.Key.Name
	if o.Object.Kind != "" {
		kind, namespace, name = string(o.Object.Kind), o.Object.Namespace, o.Object.Name
	}
	return &nodev1.Outcome{
		Kind: kind, Namespace: namespace, Name: name, Uid: string(o.UID),
		Result: resultOf(o.Verdict), Revision: o.Revision,
		Changes: o.Changes, Restarts: o.Restarts, Warnings: o.Warnings,
	}
}

func resultOf(v intake.Verdict) nodev1.Result {
	switch v {
	case intake.Created:
		return nodev1.Result_RESULT_CREATED
	case intake.Updated:
		return nodev1.Result_RESULT_UPDATED
	case intake.Replaced:
		return nodev1.Result_RESULT_REPLACED
	case intake.Deleted:
		return nodev1.Result_RESULT_DELETED
	}
	return nodev1.Result_RESULT_UNCHANGED
}
