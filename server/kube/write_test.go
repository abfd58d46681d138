package kube

import (
	"errors"
	"testing"

	"nodal/node"
	"nodal/server/auth"
)

// Others do not see the values of a Secret, and a patch of what they see would take them away.
func TestOnlyAdminsPatchSecrets(t *testing.T) {
	for _, c := range []struct {
		kind    node.ObjectKind
		role    auth.Role
		refused bool
	}{
		{node.Secret, auth.RoleAdmin, false},
		{node.Secret, auth.RoleOperator, true},
		{node.ConfigMap, auth.RoleOperator, false},
	} {
		kind, _ := node.KindNamed(string(c.kind))
		w := writer{resource: &resource{source: objects{kind: kind}}}
		err := w.seesAll(auth.NewContext(t.Context(), auth.Identity{Name: "someone", Role: c.role}))
		if errors.Is(err, node.ErrDenied) != c.refused {
			t.Errorf("%s by %s: got %v, want it refused: %v", c.kind, c.role, err, c.refused)
		}
	}
}
