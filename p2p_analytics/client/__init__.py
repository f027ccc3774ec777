"""Client of the service: the only package that sends requests.

``Client`` only reads. Writing requires an explicit import of ``p2p_analytics.client.desk``.

Layers, from top to bottom; each module imports only modules of lower layers:

``desk``
    Writes: pay, charge, approve, deny, cancel.
``_client``, ``_payment_requests``
    One method per endpoint, with the checks of its arguments; the form of a pay or charge.
``_renewal``
    Renewal of a stored sign-in, through ``oauth``: the requests of the server-side flow.
``paging``
    Lists: the pager, calendar windows, and the scheduler that loads them.
``http``
    One request: transport, throttle, error mapping, cache, adapter, deadline.
``window``
    ``Window`` and the bounds of all time, for every layer and for other packages.
"""

from __future__ import annotations

from p2p_analytics.client._client import Client

__all__ = ["Client"]
