package intake

import (
	"nodal/node"
	"nodal/node/policy"
)

// posters names the poster of pods that no caller of the API delivered.
var posters = map[node.Source]policy.Poster{
	node.SourceAPI: policy.Admin, node.SourceFile: policy.File, node.SourceURL: policy.URL,
}

func (in Intake) poster(d Delivery) policy.Poster {
	if d.By != "" {
		return d.By
	}
	return posters[in.Source]
}

// beyond returns what the delivery asks of the machine that its poster may not have. A
// delivery that changes nothing asks for nothing, nor does the first one of a pod that another
// kubelet has started. A caller of the API could give its own pod the UID of such a one.
func (in Intake) beyond(d Delivery, verdict Verdict) []node.Violation {
	switch {
	case verdict == Unchanged:
		return nil
	case verdict == Created && d.Pod != nil && in.poster(d) != policy.Admin && in.poster(d) != policy.Operator &&
		in.runs(node.KeyOf(d.Pod), d.Pod.UID):
		return nil
	}
	return in.unallowed(d)
}

// unallowed returns what the poster of a delivery may not have, be it of a pod, of those of a workload or of an object.
func (in Intake) unallowed(d Delivery) []node.Violation {
	switch {
	case d.Object == nil:
		return in.Policy.Check(d.Pod, in.poster(d))
	case d.Object.Template() != nil:
		return inTemplate(d.Object.Kind, in.Policy.Check(sample(d.Object), in.poster(d)))
	}
	return in.Policy.CheckObject(d.Object, in.poster(d))
}
