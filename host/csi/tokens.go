package csi

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// tokensKey is Kubernetes' key for the tokens of a pod's service account.
const tokensKey = "csi.storage.k8s.io/serviceAccount.tokens"

// addTokens adds the tokens that the driver of a volume wants to a request: to its Secrets if the driver asks for that, and
// else to the attributes, whose map it copies.
func (v *Volumes) addTokens(request *csiapi.NodePublishVolumeRequest, p node.Publication) error {
	if p.Terms == nil || len(p.Terms.TokenRequests) == 0 {
		return nil
	}
	tokens := map[string]authenticationv1.TokenRequestStatus{}
	for _, r := range p.Terms.TokenRequests {
		token, err := v.token(node.NewAccountToken(p.Pod.Namespace, p.Pod.UID, r.Audience, r.ExpirationSeconds))
		if err != nil {
			return fmt.Errorf("the token for audience %q: %w", r.Audience, err)
		}
		tokens[r.Audience] = token
	}
	text, err := json.Marshal(tokens)
	if err != nil {
		return err
	}
	to := &request.VolumeContext
	if p.Terms.ServiceAccountTokenInSecrets != nil && *p.Terms.ServiceAccountTokenInSecrets {
		to = &request.Secrets
	}
	with := maps.Clone(*to)
	if with == nil {
		with = map[string]string{}
	}
	with[tokensKey] = string(text)
	*to = with
	return nil
}

// token reads a token that the cluster has brought.
func (v *Volumes) token(t node.AccountToken) (given authenticationv1.TokenRequestStatus, err error) {
	ref := t.Secret()
	content, err := v.secrets(ref.Namespace, ref.Name)
	if err != nil {
		return given, err
	}
	expires, err := time.Parse(time.RFC3339, content[node.TokenExpiresKey])
	if err != nil || content[node.TokenKey] == "" {
		return given, fmt.Errorf("%s holds no token with the time at which it expires", ref)
	}
	return authenticationv1.TokenRequestStatus{Token: content[node.TokenKey], ExpirationTimestamp: metav1.NewTime(expires)}, nil
}
