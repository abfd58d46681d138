package intake

import "nodal/node"

func invalid(d Delivery, field, rule string) error {
	return refusal(d, broken(field, rule))
}

func broken(field, rule string) []node.Violation {
	return []node.Violation{{Field: field, Rule: rule}}
}

func refusal(d Delivery, violations []node.Violation) error {
	for i := range violations {
		violations[i].Document = d.Document
		violations[i].Object = d.String()
	}
	return &node.InvalidError{Violations: violations}
}

func refusedBy(d Delivery, violations []node.Violation) error {
	if len(violations) == 0 {
		return nil
	}
	return refusal(d, violations)
}
