package api

// Values of header fields that many answers share, so that no answer allocates its own. They belong
// to an http.Header under the canonical name of the field, and must not be changed.
var (
	nosniff           = []string{"nosniff"}
	crossOrigin       = []string{"cross-origin"}
	anyOrigin         = []string{"*"}
	varyByDestination = []string{"Sec-Fetch-Dest, Sec-Fetch-Site"}
	cacheForEver      = []string{"public, max-age=31536000, immutable"}
	cacheRevalidated  = []string{"private, no-cache"}
	cacheNowhere      = []string{"private, no-store"}
)
