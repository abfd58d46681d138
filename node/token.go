package node

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// Keys of a Secret that holds a token of a service account.
const (
	TokenKey        = "token"
	TokenExpiresKey = "expirationTimestamp" // in RFC 3339
)

// AccountToken describes a token of a service account that a cluster gives to one pod. The node knows no service accounts: to
// it the token is a Secret, which the member of the cluster brings.
type AccountToken struct {
	Pod       types.UID
	Namespace string
	Audience  string
	Seconds   int64
}

// NewAccountToken returns a token of a pod. seconds may be nil for Kubernetes' default.
func NewAccountToken(namespace string, pod types.UID, audience string, seconds *int64) AccountToken {
	t := AccountToken{Pod: pod, Namespace: namespace, Audience: audience, Seconds: 3600}
	if seconds != nil {
		t.Seconds = *seconds
	}
	return t
}

// Secret names the Secret that holds the token.
func (t AccountToken) Secret() ObjectRef {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s %q %d", t.Pod, t.Audience, t.Seconds))
	return ObjectRef{Kind: Secret, Namespace: t.Namespace, Name: "token-" + hex.EncodeToString(digest[:10])}
}
