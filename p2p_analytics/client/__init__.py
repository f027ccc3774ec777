"""Client of the service: the only package that sends requests.

``Client`` only reads. Writing requires an explicit import of ``p2p_analytics.client.desk``.

Each layer imports only lower ones: ``desk`` (pay, charge, approve, deny, cancel) and ``_payment_requests``, the form of
a pay or charge; ``_client``, one method per endpoint; ``_renewal`` of a stored sign-in, through ``oauth``; ``paging``,
the lists; ``http``, one request.
"""

from __future__ import annotations

from p2p_analytics.client._client import Client

__all__ = ["Client"]
